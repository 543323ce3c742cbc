#!/usr/bin/env bash
# test_studio.sh SUPPLE - the server of `supple studio`: served files, rejected requests; saved settings.
. "$(dirname "$0")/lib.sh"
supple=$(realpath "$1")
site=$work/site
mkdir -p "$site/assets/deep"
echo "<title>page</title>" >"$site/index.html"
echo "export {}" >"$site/assets/a.js"
echo "body {}" >"$site/assets/deep/a b.css"
printf '\0asm' >"$site/assets/s.wasm"
head -c 3000000 /dev/zero >"$site/assets/large.bin"
echo secret >"$work/secret.txt"
echo secret >"$site/.hidden"
ln -s ../secret.txt "$site/link.txt"
ln -s .. "$site/up"
mkfifo "$site/pipe"

refuse 2 "no page there" 'index.html' "$supple" studio --no-open --folder "$work"
refuse 1 "invalid port" 'port' "$supple" studio --no-open --folder "$site" --port 70000

"$supple" studio --no-open --folder "$site" >"$work/server" 2>&1 &
server=$!
for _ in $(seq 100); do
    grep -q Ctrl-C "$work/server" && break
    sleep 0.05
done
port=$(sed -n 's|.*http://127.0.0.1:\([0-9]*\)/.*|\1|p' "$work/server")
check "prints its address" test -n "$port"
refuse 3 "port in use" 'use a free one' "$supple" studio --no-open --folder "$site" --port "$port"

# ask 'FIRST LINE': the whole answer into $work/reply.
ask() {
    exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
    printf '%s\r\nHost: x\r\n\r\n' "$1" >"$work/request"
    cat "$work/request" >&3 # in one write: the server may reject the first half before it reads the second
    timeout 10 cat <&3 >"$work/reply"
    exec 3>&-
}
gives() { # name, first line, status, pattern of the head
    ask "$2"
    check "$1: status $3" grep -q -a "^HTTP/1.1 $3 " "$work/reply"
    check "$1: $4" grep -q -a -i "$4" "$work/reply"
    check "$1: no secret" test "$(grep -c -a secret "$work/reply")" -eq 0
}

gives "the index" "GET / HTTP/1.1" 200 'Content-Type: text/html'
check "the index itself" grep -q -a '<title>page' "$work/reply"
gives "a query" "GET /index.html?a=../b HTTP/1.1" 200 'text/html'
gives "a script" "GET /assets/a.js HTTP/1.1" 200 'Content-Type: text/javascript'
gives "WebAssembly" "GET /assets/s.wasm HTTP/1.1" 200 'Content-Type: application/wasm'
gives "a name with a space" "GET /assets/deep/a%20b.css HTTP/1.1" 200 'Content-Type: text/css'
gives "HEAD" "HEAD / HTTP/1.1" 200 'Content-Length: 20'
check "HEAD has no body" test "$(grep -c -a '<title>' "$work/reply")" -eq 0
gives "a large file" "GET /assets/large.bin HTTP/1.1" 200 'Content-Length: 3000000'
check "a large file is whole" test "$(stat -c %s "$work/reply")" -gt 3000000
gives "nothing there" "GET /none.html HTTP/1.1" 404 'Not Found'
gives "a folder" "GET /assets HTTP/1.1" 404 'Not Found'
gives "a pipe" "GET /pipe HTTP/1.1" 404 'Not Found'
gives "a hidden file" "GET /.hidden HTTP/1.1" 404 'Not Found'
gives "a link out" "GET /link.txt HTTP/1.1" 404 'Not Found'
gives "a linked folder" "GET /up/secret.txt HTTP/1.1" 404 'Not Found'
gives "two dots" "GET /../secret.txt HTTP/1.1" 404 'Not Found'
gives "two dots inside" "GET /assets/../../secret.txt HTTP/1.1" 404 'Not Found'
gives "encoded .." "GET /%2e%2e/secret.txt HTTP/1.1" 404 'Not Found'
gives "encoded ../" "GET /assets%2f%2E%2E%2f..%2fsecret.txt HTTP/1.1" 404 'Not Found'
gives "a double slash" "GET //etc/passwd HTTP/1.1" 404 'Not Found'
gives "no slash" "GET etc/passwd HTTP/1.1" 400 'Bad Request'
gives "encoded NUL" "GET /index.html%00.js HTTP/1.1" 400 'Bad Request'
gives "truncated escape" "GET /%2 HTTP/1.1" 400 'Bad Request'
gives "a backslash" 'GET /..\secret.txt HTTP/1.1' 400 'Bad Request'
gives "POST" "POST / HTTP/1.1" 405 'Allow: GET, HEAD'
gives "not HTTP" "hello" 400 'Bad Request'
gives "a line too long" "GET /$(head -c 9000 /dev/zero | tr '\0' a) HTTP/1.1" 431 'Too Large'

# An idle connection does not block others.
exec 4<>"/dev/tcp/127.0.0.1/$port"
gives "with an idle connection" "GET / HTTP/1.1" 200 'text/html'
exec 4>&-

if command -v ss >/dev/null; then
    check "listens on loopback alone" test "$(ss -Hltn "sport = :$port" | awk '{ print $4 }')" = "127.0.0.1:$port"
fi
kill -INT "$server"
wait "$server"
check "ends on Ctrl-C" test $? -eq 0

# bake reads the settings that the page saves.
bake=("$supple" bake "scene:cylinder@0.3" -q --fps 5)
echo '{"method": "projective", "settings": {"iterations": 3, "contact": "off"}}' >"$work/saved.json"
echo '{"method": "projective", "settings": {"iteration": 3}}' >"$work/wrong.json"
echo '{"method": "projective", ' >"$work/cut.json"
run 0 "bake --settings" "${bake[@]}" -o "$work/a.pc2" --settings "$work/saved.json" --set iterations=4
run 0 "bake --set" "${bake[@]}" -o "$work/b.pc2" --method projective --set iterations=4 --set contact=off
check "both are the same" cmp "$work/a.pc2" "$work/b.pc2"
refuse 2 "a wrong name" 'wrong.json: .*no parameter "iteration"' "${bake[@]}" -o "$work/c.pc2" \
    --settings "$work/wrong.json"
refuse 2 "cut short" 'cut.json' "${bake[@]}" -o "$work/c.pc2" --settings "$work/cut.json"
refuse 2 "no such settings" 'none.json' "${bake[@]}" -o "$work/c.pc2" --settings "$work/none.json"
refuse 1 "another method" 'settings of projective' "${bake[@]}" -o "$work/c.pc2" --settings "$work/saved.json" -m linear
refuse 1 "settings and a model" 'bind again' "${bake[@]}" -o "$work/c.pc2" --settings "$work/saved.json" \
    --model m.supple
finish
