# Debian packages that Pontage needs, and how they are installed. Sourced by deploy/quickstart.sh and tests/run.sh.

BUILD_PACKAGES=(
  g++ cmake ninja-build pkg-config libboost1.81-dev libyaml-cpp-dev libfmt-dev libspdlog-dev
  prometheus-cpp-dev nlohmann-json3-dev libcli11-dev libre2-dev libc-ares-dev libgtest-dev libgmock-dev
  zlib1g-dev libbrotli-dev libzstd-dev libssl-dev libnghttp2-dev
)

# as_root COMMAND...: runs it as root, through sudo when needed.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# install_packages PACKAGE...: installs those that are missing. No package starts a service: a policy-rc.d forbids it
# while dpkg runs, and goes away again afterwards (one that was there before stays).
install_packages() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  if [ "${#missing[@]}" -eq 0 ]; then return 0; fi
  echo "installing: ${missing[*]}"
  # One root shell, so that sudo asks at most once and the policy is removed whatever happens.
  as_root env DEBIAN_FRONTEND=noninteractive bash -euc '
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
      trap "rm -f $policy" EXIT
      printf "#!/bin/sh\nexit 101\n" >"$policy"
      chmod 755 "$policy"
    fi
    apt-get update -q
    apt-get install -y -q --no-install-recommends "$@"
  ' install_packages "${missing[@]}"
}
