"""The LiteLLM proxy: one model behind it, no keys, no database, and no questions to anybody else."""

from collections.abc import Mapping
from pathlib import Path

from bench.peers.environments import LITELLM

_CONFIGURATION = """
model_list:
  - model_name: bench
    litellm_params:
      model: openai/bench
      api_base: http://127.0.0.1:{upstream}/v1
      api_key: x
"""

ENVIRONMENT: Mapping[str, str] = {
    "LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true",  # it listens on loopback, and a key costs it time
    "LITELLM_LOG": "ERROR",
    "LITELLM_MODE": "PRODUCTION",  # else it looks for a file of settings in every folder above
    # The lists that it would fetch at the start are in the package.
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_LOCAL_AUTOROUTER_PRESETS": "True",
    "LITELLM_LOCAL_BLOG_POSTS": "True",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_POLICY_TEMPLATES": "True",
}


def litellm_command(folder: Path, port: int, upstream: int) -> list[str]:
    """Write the configuration into the folder; the command that runs it, one process."""
    configuration = folder / "litellm.yaml"
    configuration.write_text(_CONFIGURATION.format(upstream=upstream))
    return [LITELLM.program("litellm"), "--config", str(configuration), "--host", "127.0.0.1", "--port", str(port)]
