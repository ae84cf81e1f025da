#!/usr/bin/env bash
# Build the image without a container engine: packages of Debian, wheels, and buildah.
#
#   image/build.sh [amd64|arm64]        (default: this machine's)
#
# Needs root, mmdebstrap, buildah and Python 3.11; no program of the image runs while it is built, so
# that either architecture can be built on either. Writes build/image/pubsub-emulator-ARCH.tar, which
# `docker load` and `podman load` read, and beside it the digest: the same for the same inputs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

arch=${1:-$(dpkg --print-architecture)}
case $arch in
    amd64) platform=x86_64 ;;
    arm64) platform=aarch64 ;;
    *) echo "image/build.sh: no such architecture: $arch" >&2; exit 2 ;;
esac
for tool in mmdebstrap buildah python3.11; do
    command -v "$tool" >/dev/null || { echo "image/build.sh: $tool is missing" >&2; exit 3; }
done
# What takes part in the image has this time; buildah's layers are the same for the same content.
export SOURCE_DATE_EPOCH=1700000000
python=${PYTHON_BIN:-.venv/bin/python}
out=build/image
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$out"

# 1. Debian's packages, taken apart and not installed.
mmdebstrap --quiet --mode=root --variant=extract --architectures="$arch" \
    --include=python3.11-minimal,libpython3.11-stdlib,dash,libssl3,libstdc++6,ca-certificates \
    bookworm "$root/debian.tar"
system=$root/system
mkdir "$system"
tar --extract --file "$root/debian.tar" --directory "$system"

# 2. What a server needs of them.
(
    cd "$system"
    # The image has no compiler, no package tools, and nothing to read.
    find usr/bin bin sbin usr/sbin -mindepth 1 ! -name 'python3*' ! -name dash ! -name sh -delete
    rm -rf usr/share/{doc,man,locale,lintian,bug,perl5,dpkg,debconf,pixmaps,applications,binfmts} \
        usr/lib/{dpkg,mime} usr/local/* var/lib var/cache var/log etc/apt etc/dpkg etc/cron* \
        etc/kernel etc/logrotate.d etc/alternatives boot home media mnt opt srv dev/* \
        usr/lib/python3.11/{idlelib,lib2to3,pydoc_data,tkinter,turtledemo,ensurepip,distutils} \
        usr/lib/python3.11/{test,unittest/test,config-*,pdb.py,doctest.py,turtle.py}
    rm -rf usr/share/{menu,info,polkit-1,readline,gdb,common-licenses,base-files,python3} \
        usr/lib/*/{gconv,krb5,engines-3} usr/lib/*/lib{db-5.3,krb5,gssapi_krb5,k5crypto,tirpc,nsl}* \
        usr/lib/*/lib{krb5support,pcre2,form,menu,panel,zstd}* lib/*/lib{tirpc,mvec}* \
        usr/lib/python3.11/lib-dynload/{nis,_dbm,_curses,_curses_panel,readline}.*
    find usr/share/ca-certificates -name '*.crt' | LC_ALL=C sort | xargs cat > "$root/certificates"
    mkdir -p etc/ssl/certs tmp run usr/local/bin usr/lib/python3/dist-packages
    mv "$root/certificates" etc/ssl/certs/ca-certificates.crt
    rm -rf usr/share/ca-certificates
    chmod 1777 tmp
    ln -sf python3.11 usr/bin/python3
    printf 'root:x:0:0::/:/bin/sh\nemulator:x:65532:65532::/tmp:/bin/sh\n' > etc/passwd
    printf 'root:x:0:\nemulator:x:65532:\n' > etc/group
)

# 3. The wheel and those that it needs.
rm -rf build/wheel
"$python" -m hatchling build --target wheel -d build/wheel >/dev/null 2>&1
packages=$system/usr/lib/python3/dist-packages
"$python" -m pip --quiet --disable-pip-version-check install --no-compile \
    --target "$packages" --python-version 3.11 --implementation cp --only-binary :all: \
    --platform "manylinux2014_$platform" --platform "manylinux_2_17_$platform" \
    --platform "manylinux_2_28_$platform" build/wheel/*.whl
rm -rf "$packages"/bin
find "$packages" -name direct_url.json -delete
# PyYAML is used without its C part, and gRPC without a certificate store.
rm -f "$packages"/yaml/_yaml.* "$packages"/grpc/_cython/_credentials/roots.pem
find "$packages" \( -name '*.pyx' -o -name '*.pxd' -o -name '*.c' -o -name '*.h' \) -delete
find "$packages" -depth -type d \( -name tests -o -name test \) -exec rm -rf {} +
# Compiled ahead, as nobody in the image may write; and by hash, as files have no times.
find "$system" -name __pycache__ -prune -exec rm -rf {} +
python3.11 -m compileall -q --invalidation-mode unchecked-hash -s "$system" -p / \
    "$system/usr/lib/python3.11" "$packages"

# 4. The commands.
script() {
    printf '#!/bin/sh\n# %s\nexec /usr/bin/python3.11 -P -m %s "$@"\n' "$2" "$3" \
        > "$system/usr/local/bin/$1"
}
script pubsub-emulator pubsub-emulator emulator
script cloud-pubsub-emulator cloud-pubsub-emulator emulator.cli.google_launcher
script gcloud 'pubsub-emulator gcloud shim' emulator.cli.gcloud_shim
cp image/entrypoint "$system/usr/local/bin/entrypoint"
chmod 755 "$system"/usr/local/bin/*

# 5. The image.
find "$system" -newermt "@$SOURCE_DATE_EPOCH" -exec touch --no-dereference \
    --date "@$SOURCE_DATE_EPOCH" {} +
name=localhost/pubsub-emulator:$arch
container=$(buildah from --format docker --arch "$arch" scratch)
buildah add --quiet "$container" "$system" / >/dev/null
buildah config --arch "$arch" --os linux --user 65532:65532 --port 8085 --workingdir /tmp \
    --env PATH=/usr/local/bin:/usr/bin:/bin --env PYTHONUNBUFFERED=1 --env HOME=/tmp \
    --entrypoint '["/usr/local/bin/entrypoint"]' --cmd '' --stop-signal SIGTERM \
    --healthcheck 'CMD pubsub-emulator wait --host-port localhost:8085 --timeout 2' \
    --healthcheck-interval 5s --healthcheck-timeout 4s --healthcheck-retries 3 \
    --label org.opencontainers.image.title=pubsub-emulator \
    --label org.opencontainers.image.licenses=Apache-2.0 "$container"
buildah commit --quiet --rm --format docker --timestamp "$SOURCE_DATE_EPOCH" "$container" "$name" \
    >/dev/null
buildah push --quiet "$name" "docker-archive:$root/image.tar:pubsub-emulator:latest"
buildah rmi "$name" >/dev/null
"$python" image/normalise.py "$root/image.tar" "$out/pubsub-emulator-$arch.tar" \
    > "$out/pubsub-emulator-$arch.id"
compressed=$(gzip -6 --stdout "$out/pubsub-emulator-$arch.tar" | wc -c)
echo "pubsub-emulator-$arch.tar $(cat "$out/pubsub-emulator-$arch.id")"
echo "$((compressed / 1000000)).$((compressed / 100000 % 10)) MB compressed"
