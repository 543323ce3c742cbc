# Supple: 'make demo' to see it work, 'make test' to test it. Both install what is missing.
# All the work is CMake's and the scripts'; this file only names it.
PREFIX ?= /usr/local
BUILD_TYPE ?= Release

help:
	@echo "make demo             build, and bake the built-in human to out/demo.glb"
	@echo "make build            build/supple and the libraries"
	@echo "make test             the tests of the normal build, and the checks that only read files"
	@echo "make check            the tests under sanitizers, clang-tidy, the ABI, fuzzing, quality; CI runs test and check"
	@echo "make bench            the benchmarks"
	@echo "make gauntlet         every method on every character and motion, into out/gauntlet.csv and .html; hours"
	@echo "make studio           the studio as static files, into web/dist/studio/"
	@echo "make pictures         the pictures of README.md, into docs/pictures/"
	@echo "make install          to PREFIX=$(PREFIX): program, libraries, headers, man page"
	@echo "make format           clang-format on every C, C++ and CUDA file"
	@echo "make clean            removes build folders and out/"
	@echo "demo, test, check and bench install missing Debian packages first (as root or with sudo); offline when all is there."

setup:
	@scripts/setup.sh build

build: setup
	@scripts/build.sh build -DCMAKE_BUILD_TYPE=$(BUILD_TYPE)

demo: build
	@scripts/demo.sh

test:
	@scripts/setup.sh test
	@scripts/test.sh

check:
	@scripts/setup.sh check
	@scripts/check.sh

bench: build
	@scripts/bench.sh

gauntlet: build
	@mkdir -p out
	@build/check_gauntlet --jobs "$$(nproc)" --csv out/gauntlet.csv --html out/gauntlet.html

pictures: build
	@scripts/pictures.sh

studio:
	@scripts/setup.sh studio
	@scripts/studio.sh

install: build
	@cmake --install build --prefix "$(PREFIX)"

format:
	@scripts/check_format.sh --fix

clean:
	@rm -rf build build-* out

.PHONY: help setup build demo test check bench gauntlet pictures studio install format clean
