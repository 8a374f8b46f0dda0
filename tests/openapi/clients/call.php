<?php
// Calls the server through classes that were generated from its document.
declare(strict_types=1);
[, $generated, $url] = $argv;
error_reporting(E_ALL & ~E_DEPRECATED);
require stream_resolve_include_path('GuzzleHttp/autoload.php');
spl_autoload_register(function (string $class) use ($generated): void {
    if (str_starts_with($class, 'Deltawire\\')) {
        require $generated . '/lib/' . strtr(substr($class, strlen('Deltawire\\')), '\\', '/') . '.php';
    }
});

use Deltawire\Api\FunctionsApi;
use Deltawire\Model\{ChatRequest, ListItemsInput, ListItemsRequest, Mode, RunSettings};

$api = new FunctionsApi(new GuzzleHttp\Client(), (new Deltawire\Configuration())->setHost($url));

$input = new ListItemsInput(['passage' => 'a kettle', 'mode' => Mode::PLANE]);
$settings = new RunSettings(['max_tokens' => 9]);
$typed = $api->listItems(new ListItemsRequest(['input' => $input, 'settings' => $settings]));

[$text, $status, $headers] = $api->chatWithHttpInfo(new ChatRequest(['input' => 'hi']));

$reason = null;
try {
    $api->chat(new ChatRequest(['input' => 'hi', 'timeout' => 1e-9]));
} catch (Deltawire\ApiException $error) {
    $reason = $error->getResponseObject()->getReason();
}

echo json_encode([
    'items' => array_map(fn ($item) => $item->getName(), $typed->getOutput()),
    'said' => $text->getOutput(),
    'status' => $status,
    'reason' => $reason,
    'run_id' => $headers['deltawire-run-id'][0] === $text->getRunId(),
]), "\n";
