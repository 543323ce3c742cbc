# bash completion for supple; installed to share/bash-completion/completions/supple, or: source supple.bash
_supple_files() { # word, file extensions
    local word=$1 pattern=$2
    mapfile -t COMPREPLY < <(compgen -d -- "$word"; compgen -f -X "!*.@($pattern)" -- "$word")
    compopt -o filenames 2>/dev/null
}

# bash splits words at ":": "scene:human" arrives as three words.
_supple_scenes() {
    local word=$1 names
    names=$("${COMP_WORDS[0]}" scenes --names 2>/dev/null)
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
}

_supple() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    local verbs='info bake bind rig render compare slice measure report bench anatomy studio methods scenes'
    local anatomy='template train register fit grow'
    local -A anatomy_options=(
        [template]='--skin --bones --muscles --skeleton --surface --wrap --attach --exclude --sex'
        [train]='--modes --regressor-modes'
        [register]='--composition --landmarks --unit --rest --sex'
        [fit]='--template --composition --fat --muscle --landmarks --sex --no-details'
        [grow]='--fat --region --from --pressure --no-visceral'
    )
    local characters='glb|gltf|obj|off|ply|stl|skel|bvh|ini|fbx|dae'
    COMPREPLY=()
    shopt -q extglob || { shopt -s extglob; local restore=1; }
    if [ "$COMP_CWORD" -eq 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$verbs help --help --version" -- "$word")
    elif [ "$COMP_CWORD" -eq 2 ] && [ "$verb" = anatomy ]; then
        mapfile -t COMPREPLY < <(compgen -W "$anatomy --help" -- "$word")
    elif [ "$word" = : ] && [ "$previous" = scene ]; then
        _supple_scenes ""
    elif [ "$previous" = : ] && [ "${COMP_WORDS[COMP_CWORD - 2]}" = scene ]; then
        _supple_scenes "$word"
    else
        case $previous in
        -m | --method) mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" methods --names 2>/dev/null)" -- "$word") ;;
        --weights) mapfile -t COMPREPLY < <(compgen -W "auto file nearest heat rigid" -- "$word") ;;
        --color) mapfile -t COMPREPLY < <(compgen -W "none stretch contact weights primitives" -- "$word") ;;
        --camera) mapfile -t COMPREPLY < <(compgen -W "front back side three-quarter top" -- "$word") ;;
        --contact) mapfile -t COMPREPLY < <(compgen -W "on off" -- "$word") ;;
        --up) mapfile -t COMPREPLY < <(compgen -W "y z" -- "$word") ;;
        -o | --output)
            case $verb in
            render) _supple_files "$word" 'png|mp4|gif|webm' ;;
            compare | slice) _supple_files "$word" 'png' ;;
            report) _supple_files "$word" 'html' ;;
            bind) _supple_files "$word" 'supple' ;;
            anatomy) _supple_files "$word" 'glb|obj|template|composition' ;;
            rig) _supple_files "$word" 'glb' ;;
            *) _supple_files "$word" 'glb|pc2|mdd|obj' ;;
            esac
            ;;
        --model) _supple_files "$word" 'supple' ;;
        --collider) mapfile -t COMPREPLY < <(compgen -W "plane: sphere: capsule: mesh:" -- "$word") ;;
        --save | --against) _supple_files "$word" 'json' ;;
        --skeleton-file) _supple_files "$word" 'skel|bvh' ;;
        --motion) _supple_files "$word" 'bvh|anim|glb|gltf|fbx|dae' ;;
        --skeleton)
            if [ "$verb" = render ]; then _supple_files "$word" "$characters"; else _supple_files "$word" 'skel|bvh'; fi
            ;;
        --sex) mapfile -t COMPREPLY < <(compgen -W "unknown female male" -- "$word") ;;
        --device) mapfile -t COMPREPLY < <(compgen -W "cpu cuda" -- "$word") ;;
        --settings) _supple_files "$word" 'json' ;;
        --map | --setup) _supple_files "$word" 'txt|map' ;;
        --plane) mapfile -t COMPREPLY < <(compgen -W "bend front side top" -- "$word") ;;
        --operator) mapfile -t COMPREPLY < <(compgen -W "contact bulge" -- "$word"; compgen -f -- "$word") ;;
        --clip | -c | --fps | --frame | --frames | --threads | -j | --set | -s | --paint | --methods | --zoom | --size | --instances | \
            --seconds | --joint | --reach | --depth | --port | --fat | --muscle | --region | --pressure | --unit | --exclude | --modes | \
            --regressor-modes) ;;
        --folder) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
        *)
            case $verb:$word in
            bake:-*) mapfile -t COMPREPLY < <(compgen -W "--output --method --set --settings --paint --setup --model --collider --clip --motion --map --skeleton \
                --fps --frames --weights --threads --no-normals --device --json --quiet --help" -- "$word") ;;
            bind:-*) mapfile -t COMPREPLY < <(compgen -W "--output --method --set --settings --paint --setup --skeleton --weights --threads --json \
                --quiet --help" -- "$word") ;;
            rig:-*) mapfile -t COMPREPLY < <(compgen -W "--output --skeleton --weights --threads --quiet --help" -- "$word") ;;
            render:-*) mapfile -t COMPREPLY < <(compgen -W "--output --frame --frames --camera --zoom --size --color --up \
                --wire --skeleton --layers --turn --method --set --settings --paint --setup --model --collider --clip --motion --map --skeleton-file --fps \
                --weights --threads --quiet --help" -- "$word") ;;
            compare:-*) mapfile -t COMPREPLY < <(compgen -W "--output --methods --set --paint --setup --frame --frames --camera --zoom \
                --size --color --up --wire --clip --motion --map --skeleton --fps --weights --threads --quiet --help" \
                -- "$word") ;;
            slice:-*) mapfile -t COMPREPLY < <(compgen -W "--output --joint --plane --reach --operator --depth --frame --size --method \
                --set --settings --paint --setup --model --clip --motion --map --skeleton --fps --weights --threads --quiet --help" -- "$word") ;;
            measure:-*) mapfile -t COMPREPLY < <(compgen -W "--clip --motion --map --skeleton --fps --frames --weights \
                --threads --json --quiet --help" -- "$word") ;;
            report:-*) mapfile -t COMPREPLY < <(compgen -W "--output --methods --set --paint --setup --frames --camera --zoom --size \
                --color --up --clip --motion --map --skeleton --fps --weights --threads --quiet --help" -- "$word") ;;
            bench:-*) mapfile -t COMPREPLY < <(compgen -W "--method --set --setup --clip --skeleton --weights --contact \
                --instances --device --seconds --save --against --threads --json --quiet --help" -- "$word") ;;
            anatomy:-*) mapfile -t COMPREPLY < <(compgen -W "${anatomy_options[${COMP_WORDS[2]}]-} --output --threads --json --quiet --help" \
                -- "$word") ;;
            studio:*) mapfile -t COMPREPLY < <(compgen -W "--folder --port --no-open --help" -- "$word") ;;
            info:-*) mapfile -t COMPREPLY < <(compgen -W "--json --joints --skeleton --help" -- "$word") ;;
            methods:* | scenes:*) mapfile -t COMPREPLY < <(compgen -W "--json --names --help" -- "$word") ;;
            help:*) mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$word") ;;
            *)
                case $verb in
                render | measure) _supple_files "$word" "$characters|pc2|mdd" ;;
                *) _supple_files "$word" "$characters" ;;
                esac
                [[ scene: == "$word"* && -n $word ]] && COMPREPLY+=("scene:")
                ;;
            esac
            ;;
        esac
    fi
    [ -z "${restore:-}" ] || shopt -u extglob
}
complete -F _supple supple
