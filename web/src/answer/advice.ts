// What to do about an error.

const ADVICE: Readonly<Record<string, string>> = {
  invalid_input: "Change the field that the message names, and run it again.",
  invalid_json: "The request was no JSON. If you did not write it yourself, something on the way changed it.",
  unknown_function: "Reload the page: the server may have been started with other functions.",
  unknown_path: "Something before the server leads to another path. Look at the proxy's routes.",
  unknown_variant: "Choose one of the function's variants, or none.",
  not_acceptable: "Something on the way has changed the header Accept.",
  unsupported_media: "Something on the way has changed the content type or the coding of the request.",
  upgrade_required: "A proxy has dropped the header Upgrade: let it pass WebSockets.",
  request_too_large: "Send less, or raise http.max_body_bytes.",
  request_timeout: "The request came too slowly. Try again.",
  overloaded: "The server has as many runs as it takes (max_runs). Wait, or stop another one.",
  draining: "The server is shutting down. Try again when it is back.",
  connect_timeout: "The provider cannot be reached. Look at its base_url and the network, then try again.",
  first_token_timeout: "The model took too long to begin. Try again, or raise the function's first_token limit.",
  idle_timeout: "The model fell silent. Try again, or raise the function's idle limit.",
  total_timeout: "Ask for less, or raise the timeout, up to the function's total limit.",
  canceled: "The run was stopped. Run it again when you like.",
  stopped: "Run it again when you like.",
  cut: "The connection broke on the way. Try again; if it returns, look at proxies with time limits.",
  unreachable: "See whether the server runs (its /healthz), then try again.",
  unauthenticated: "Say who you are to the server, or to what stands before it.",
  forbidden: "This page's origin may not call. Name it in http.allowed_origins.",
  upstream_unreachable: "See whether the provider runs, and its base_url. deltawire doctor tries it.",
  upstream_error: "The provider has failed. Try again, or name a second model in models=[…].",
  upstream_truncated: "The provider cut its answer. Try again.",
  upstream_invalid: "The provider answered what is no answer. See its base_url; deltawire doctor tries it.",
  upstream_auth: "The provider refuses the key. Check the setting api_key of that provider.",
  upstream_rate_limited: "The provider wants fewer calls. Wait, or name a second model in models=[…].",
  upstream_rejected: "The provider refuses this request. The message says why.",
  outcome_unknown: "The connection was lost after the request was sent; it may be billed. Look before you try again.",
  content_filter: "The provider's filter stopped it. Word the input otherwise.",
  refusal: "The model would not answer. Word the input otherwise.",
  output_truncated: "Raise max_tokens, or ask for less.",
  output_invalid: "Try again; set bounds in the output's type, or use a larger model.",
  answer_too_large: "Ask for less, or raise max_answer_bytes.",
  internal: "The server's log tells more under this run id.",
}

export function advice(reason: string): string {
  return ADVICE[reason] ?? "The server's log may tell more."
}
