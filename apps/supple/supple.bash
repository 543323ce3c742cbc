# bash completion for supple; installed to share/bash-completion/completions/supple, or: source supple.bash
_supple_files() { # word, file extensions
    local word=$1 pattern=$2
    mapfile -t COMPREPLY < <(compgen -d -- "$word"; compgen -f -X "!*.@($pattern)" -- "$word")
    compopt -o filenames 2>/dev/null
}

_supple_words() { # word, candidates
    mapfile -t COMPREPLY < <(compgen -W "$2" -- "$1")
}

# bash splits words at ':': "scene:human" arrives as three words.
_supple_scenes() { # word
    _supple_words "$1" "$("${COMP_WORDS[0]}" scenes --names 2>/dev/null)"
}

_supple_output() { # word, verb
    case $2 in
    render) _supple_files "$1" 'png|mp4|gif|webm' ;;
    compare | slice) _supple_files "$1" 'png' ;;
    report) _supple_files "$1" 'html' ;;
    bind) _supple_files "$1" 'supple' ;;
    anatomy) _supple_files "$1" 'glb|obj|template|composition' ;;
    rig) _supple_files "$1" 'glb' ;;
    *) _supple_files "$1" 'glb|pc2|mdd|obj' ;;
    esac
}

_supple() {
    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}
    local verbs='info bake bind rig render compare slice measure report bench anatomy studio methods scenes'
    local characters='glb|gltf|obj|off|ply|stl|skel|bvh|ini|fbx|dae'
    local skinning='--method --set --settings --paint --setup'
    local animation='--clip --motion --raw-motion --map'
    local view='--camera --zoom --size --color --up'
    local playback="$animation --skeleton --fps --weights --threads --quiet"
    local -A options=(
        [info]='--json --joints --skeleton'
        [bake]="--output $skinning --model --collider $animation --skeleton --fps --frames --weights --threads
            --no-normals --device --json --quiet"
        [bind]="--output $skinning --skeleton --weights --threads --json --quiet"
        [rig]='--output --skeleton --weights --threads --quiet'
        [render]="--output --frame --frames $view --wire --skeleton --layers --turn $skinning --model --collider
            $animation --skeleton-file --fps --weights --threads --quiet"
        [compare]="--output --methods --set --paint --setup --frame --frames $view --wire $playback"
        [slice]="--output --joint --plane --reach --operator --depth --frame --size $skinning --model $playback"
        [measure]="$animation --skeleton --fps --frames --weights --threads --json --quiet"
        [report]="--output --methods --set --paint --setup --frames $view $playback"
        [bench]='--method --set --setup --clip --skeleton --weights --contact --instances --device --seconds --save
            --against --threads --json --quiet'
        [studio]='--folder --port --no-open'
        [methods]='--json --names'
        [scenes]='--json --names'
    )
    local -A anatomy_options=(
        [template]='--skin --bones --muscles --skeleton --surface --wrap --attach --exclude --sex'
        [train]='--modes --regressor-modes'
        [register]='--composition --landmarks --unit --rest --sex'
        [fit]='--template --composition --fat --muscle --landmarks --sex --no-details'
        [grow]='--fat --region --from --pressure --no-visceral'
    )
    COMPREPLY=()
    shopt -q extglob || { shopt -s extglob; local restore=1; }
    if [ "$COMP_CWORD" -eq 1 ]; then
        _supple_words "$word" "$verbs help --help --version"
    elif [ "$COMP_CWORD" -eq 2 ] && [ "$verb" = anatomy ]; then
        _supple_words "$word" "${!anatomy_options[*]} --help"
    elif [ "$word" = : ] && [ "$previous" = scene ]; then
        _supple_scenes ""
    elif [ "$previous" = : ] && [ "${COMP_WORDS[COMP_CWORD - 2]}" = scene ]; then
        _supple_scenes "$word"
    else
        case $previous in
        -m | --method) _supple_words "$word" "$("${COMP_WORDS[0]}" methods --names 2>/dev/null)" ;;
        --weights) _supple_words "$word" "auto file nearest heat rigid" ;;
        --color) _supple_words "$word" "none stretch contact weights primitives" ;;
        --camera) _supple_words "$word" "front back side three-quarter top" ;;
        --contact) _supple_words "$word" "on off" ;;
        --up) _supple_words "$word" "y z" ;;
        --collider) _supple_words "$word" "plane: sphere: capsule: mesh:" ;;
        --sex) _supple_words "$word" "unknown female male" ;;
        --device) _supple_words "$word" "cpu cuda" ;;
        --plane) _supple_words "$word" "bend front side top" ;;
        -o | --output) _supple_output "$word" "$verb" ;;
        --model) _supple_files "$word" 'supple' ;;
        --save | --against | --settings) _supple_files "$word" 'json' ;;
        --skeleton-file) _supple_files "$word" 'skel|bvh' ;;
        --motion) _supple_files "$word" 'bvh|anim|glb|gltf|fbx|dae' ;;
        --skeleton)
            if [ "$verb" = render ]; then _supple_files "$word" "$characters"; else _supple_files "$word" 'skel|bvh'; fi
            ;;
        --map | --setup) _supple_files "$word" 'txt|map' ;;
        --operator) mapfile -t COMPREPLY < <(compgen -W "contact bulge" -- "$word"; compgen -f -- "$word") ;;
        --folder) mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
        --clip | -c | --fps | --frame | --frames | --threads | -j | --set | -s | --paint) ;;
        --methods | --zoom | --size) ;;
        --instances | --seconds | --joint | --reach | --depth | --port) ;;
        --fat | --muscle | --region | --pressure | --unit | --exclude | --modes | --regressor-modes) ;;
        *)
            case $verb:$word in
            anatomy:-*)
                _supple_words "$word" "${anatomy_options[${COMP_WORDS[2]}]-} --output --threads --json --quiet --help"
                ;;
            help:*) _supple_words "$word" "$verbs" ;;
            studio:* | methods:* | scenes:* | *:-*) _supple_words "$word" "${options[$verb]-} --help" ;;
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
