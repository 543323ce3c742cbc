#!/usr/bin/env bash
# Builds Supple Studio to static files in web/dist/studio, for any web server or for 'supple studio'.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ ! -d web/node_modules/vite ]; then
    echo "studio: three.js and Vite are missing; run 'npm ci' in web (scripts/setup.sh test does this)." >&2
    exit 1
fi
scripts/wasm.sh
cd web
npx vite build studio --logLevel warn
echo "web/dist/studio: $(du -sb dist/studio | cut -f 1) bytes; 'supple studio' serves it"
