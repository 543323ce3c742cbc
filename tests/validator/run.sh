#!/bin/sh
# Validates GLB files: run.sh FILE... ; exit status 77 (skipped) where node or the npm package is not installed.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if ! command -v node >/dev/null 2>&1; then
    echo "skipped gltf_validator: node is not installed"
    exit 77
fi
if [ ! -d "$here/node_modules/gltf-validator" ]; then
    echo "skipped gltf_validator: run npm ci in tests/validator"
    exit 77
fi
exec node "$here/validate.mjs" "$@"
