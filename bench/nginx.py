"""nginx that passes everything through to the upstream: the least that a server between the two can cost."""

import shutil
import subprocess
from pathlib import Path

_CONFIGURATION = """
daemon off;
master_process off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 12000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream model {{
        server 127.0.0.1:{upstream};
        keepalive 512;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        location / {{
            proxy_pass http://model;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
        }}
    }}
}}
"""


def find_nginx() -> str | None:
    """The program; Debian installs it where an ordinary user's PATH does not look."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")


def nginx_version() -> str:
    said = subprocess.run([find_nginx() or "nginx", "-v"], capture_output=True, text=True, check=True).stderr
    return said.strip().rpartition(" version: ")[2].replace("/", " ")


def nginx_command(folder: Path, port: int, upstream: int) -> list[str]:
    """Write the configuration into the folder; the command that runs it, one process and no root."""
    configuration = folder / "nginx.conf"
    configuration.write_text(_CONFIGURATION.format(folder=folder, port=port, upstream=upstream))
    return [find_nginx() or "nginx", "-e", "stderr", "-p", str(folder), "-c", str(configuration)]
