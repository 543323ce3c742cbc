#!/usr/bin/env bash
# A folder of src/ may include only itself and folders before it in cmake/libraries.cmake; the core knows no stdio;
# apps and samples use the public headers alone. Prints each breach and a closing line.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
begin layers

folders_of() { # the words of a set(...) in cmake/libraries.cmake or cmake/cuda.cmake
    cat cmake/libraries.cmake cmake/cuda.cmake | tr '\n' ' ' | sed -n "s/.*set($1 \([^)]*\)).*/\1/p"
}
core=$(folders_of SUPPLE_CORE_FOLDERS)
all="$core $(folders_of SUPPLE_IO_FOLDERS) $(folders_of SUPPLE_CUDA_FOLDERS)"

# The source files of one folder, one a line.
files_of() { find "$1" -maxdepth 1 -type f -regextype egrep -regex '.*\.(c|h|cpp|cu|cuh)' | sort; }
# Includes in quotes of the files of one folder, as "file:folder/header.h".
includes_of() {
    files_of "$1" | xargs -r grep -H -o -E '^[[:space:]]*#[[:space:]]*include "[^"]+"' |
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

# Every folder with sources must be in the list.
while read -r folder; do
    case " $all " in *" $folder "*) known=0 ;; *) known=1 ;; esac
    report "$known" "src/$folder is not in cmake/libraries.cmake"
done < <(find src -regextype egrep -regex '.*\.(c|h|cu|cuh)' -printf '%h\n' | sed 's|^src/||' | sort -u)

for folder in $core; do
    [ -d "src/$folder" ] || continue
    bad=$(files_of "src/$folder" | xargs -r grep -l -E '#[[:space:]]*include <(stdio|unistd|fcntl|sys/.*|dirent)\.h>' |
        grep -v '^src/base/task' || true)
    report "$([ -z "$bad" ] && echo 0 || echo 1)" "the core has no stdio, but: $(echo "$bad" | tr '\n' ' ')"
done

for folder in apps/supple samples; do
    bad=""
    while IFS=: read -r file header; do
        case $header in supple/* | "") continue ;; esac
        [ -e "$folder/$header" ] || [ -e "apps/assimp/$header" ] || [ -e "apps/render/$header" ] ||
            bad="$bad$file includes \"$header\"; "
    done < <(includes_of "$folder")
    report "$([ -z "$bad" ] && echo 0 || echo 1)" "$folder uses the public headers alone, but: $bad"
done

finish
