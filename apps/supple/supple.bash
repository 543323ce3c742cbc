# bash completion for supple; installed to share/bash-completion/completions/supple, or: source supple.bash
_supple_files() { # endings
    local word=$1 pattern=$2
    mapfile -t COMPREPLY < <(compgen -d -- "$word"; compgen -f -X "!*.@($pattern)" -- "$word")
    compopt -o filenames 2>/dev/null
}

# bash breaks words at ':', so "scene:human" comes in three.
_supple_scenes() {
    local word=$1 names
    names=$("${COMP_WORDS[0]}" scenes --names 2>/dev/null)
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
}

_supple() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    local characters='glb|gltf|obj|off|ply|stl|skel|bvh|ini|fbx|dae'
    COMPREPLY=()
    shopt -q extglob || { shopt -s extglob; local restore=1; }
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "info bake methods scenes help --help --version" -- "$word")
    elif [ "$word" = : ] && [ "$before" = scene ]; then
        _supple_scenes ""
    elif [ "$before" = : ] && [ "${COMP_WORDS[COMP_CWORD - 2]}" = scene ]; then
        _supple_scenes "$word"
    else
        case $before in
        -m | --method) mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" methods --names 2>/dev/null)" -- "$word") ;;
        --weights) mapfile -t COMPREPLY < <(compgen -W "auto file nearest heat rigid" -- "$word") ;;
        -o | --output) _supple_files "$word" 'glb|pc2|mdd|obj' ;;
        --motion) _supple_files "$word" 'bvh|anim|glb|gltf|fbx|dae' ;;
        --skeleton) _supple_files "$word" 'skel|bvh' ;;
        --map) _supple_files "$word" 'txt|map' ;;
        --clip | -c | --fps | --frames | --threads | -j | --set | -s) ;;
        *)
            case $verb:$word in
            bake:-*) mapfile -t COMPREPLY < <(compgen -W "--output --method --set --clip --motion --map --skeleton \
                --fps --frames --weights --threads --no-normals --json --quiet --help" -- "$word") ;;
            info:-*) mapfile -t COMPREPLY < <(compgen -W "--json --joints --skeleton --help" -- "$word") ;;
            methods:* | scenes:*) mapfile -t COMPREPLY < <(compgen -W "--json --names --help" -- "$word") ;;
            help:*) mapfile -t COMPREPLY < <(compgen -W "info bake methods scenes" -- "$word") ;;
            *)
                _supple_files "$word" "$characters"
                [[ scene: == "$word"* && -n $word ]] && COMPREPLY+=("scene:")
                ;;
            esac
            ;;
        esac
    fi
    [ -z "${restore:-}" ] || shopt -u extglob
}
complete -F _supple supple
