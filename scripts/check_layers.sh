#!/usr/bin/env bash
# A folder of src/ may include only itself and folders before it in cmake/libraries.cmake; the core knows no stdio;
# apps and samples use the public headers alone. Prints each breach and a closing line.
set -euo pipefail
cd "$(dirname "$0")/.."

folders_of() { # the words of a set(...) in cmake/libraries.cmake or cmake/cuda.cmake
    cat cmake/libraries.cmake cmake/cuda.cmake | tr '\n' ' ' | sed -n "s/.*set($1 \([^)]*\)).*/\1/p"
}
core=$(folders_of SUPPLE_CORE_FOLDERS)
all="$core $(folders_of SUPPLE_IO_FOLDERS) $(folders_of SUPPLE_CUDA_FOLDERS)"
passed=0 failed=0

report() { # 0 or 1, message
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED layers: $2"
    fi
}

# Includes in quotes of the files of one folder, as "file:folder/header.h".
includes_of() {
    grep -H -o -E '^[[:space:]]*#[[:space:]]*include "[^"]+"' "$1"/*.[ch] 2>/dev/null |
        sed -E 's/:[[:space:]]*#[[:space:]]*include "([^"]+)"/:\1/' || true
}

allowed=""
for folder in $all; do
    allowed="$allowed $folder"
    [ -d "src/$folder" ] || continue
    bad=""
    while IFS=: read -r file header; do
        [ -n "$header" ] || continue
        from=${header%/*}
        case $header in supple/*) continue ;; esac
        case " $allowed " in *" $from "*) continue ;; esac
        bad="$bad$file includes \"$header\"; "
    done < <(includes_of "src/$folder")
    report "$([ -z "$bad" ] && echo 0 || echo 1)" "src/$folder: $bad"
done

# Every folder with sources must have its place on the road.
while read -r folder; do
    case " $all " in *" $folder "*) known=0 ;; *) known=1 ;; esac
    report "$known" "src/$folder is not in cmake/libraries.cmake"
done < <(find src -name '*.c' -printf '%h\n' | sed 's|^src/||' | sort -u)

for folder in $core; do
    [ -d "src/$folder" ] || continue
    bad=$(grep -l -E '#[[:space:]]*include <(stdio|unistd|fcntl|sys/.*|dirent)\.h>' "src/$folder"/*.[ch] 2>/dev/null |
        grep -v '^src/base/task' || true)
    report "$([ -z "$bad" ] && echo 0 || echo 1)" "the core has no stdio, but: $(echo "$bad" | tr '\n' ' ')"
done

for folder in apps/supple samples; do
    bad=""
    while IFS=: read -r file header; do
        case $header in supple/* | "") continue ;; esac
        [ -e "$folder/$header" ] || [ -e "apps/assimp/$header" ] || [ -e "apps/render/$header" ] || bad="$bad$file includes \"$header\"; "
    done < <(includes_of "$folder")
    report "$([ -z "$bad" ] && echo 0 || echo 1)" "$folder uses the public headers alone, but: $bad"
done

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
