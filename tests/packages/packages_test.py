#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian packages, built from a copy of the checkout, unpacked below one folder and used from there:

    packages_test.py SOURCE FOLDER VERSION

FOLDER is the test's own; what is in it is removed. VERSION is the project's. The build is the least that shows what
is asked here: without CUDA, optimisation and debugging information. Skipped where Debian's tools, or packages
that debian/control asks for, are missing.
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

SOURCE, FOLDER, VERSION = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
SKIPPED = 77
PLUGIN, LIBRARY, LIBRARY_DEV, PLUGIN_DEV, DOC = PACKAGES = (
    'gstreamer1.0-cudaxcorr', 'libxcorr0', 'libxcorr-dev', 'gstreamer1.0-cudaxcorr-dev', 'libxcorr-doc')


def cache():
    """Of what has been compiled: debhelper sets another HOME, where ccache would find nothing."""
    if not shutil.which('ccache'):
        return {}
    return {'CCACHE_DIR': subprocess.run(['ccache', '--get-config=cache_dir'], text=True, check=True,
                                         stdout=subprocess.PIPE).stdout.strip()}


# Debian's python3, with Debian's Sphinx. Kernels for one set of instructions: those for all take minutes to compile.
ENVIRONMENT = {
    **os.environ, **cache(), 'PATH': f'/usr/bin:{os.environ["PATH"]}', 'LC_ALL': 'C.UTF-8',
    'DEB_BUILD_OPTIONS': 'nocheck noopt noautodbgsym parallel=2', 'DEB_BUILD_PROFILES': 'pkg.cudaxcorr.nocuda',
    'DEB_CFLAGS_STRIP': '-g', 'DEB_CXXFLAGS_STRIP': '-g',
    'DEB_CXXFLAGS_APPEND': '-DHWY_COMPILE_ONLY_STATIC', 'GST_REGISTRY_1_0': str(FOLDER / 'registry.bin')}
METADATA_READER = '''#include <gstcudaxcorrmeta.h>
int main(void) { return gst_cuda_xcorr_get_result(gst_buffer_new()) != NULL; }
'''


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], env={**ENVIRONMENT, **more.pop('extra', {})}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **more)
    assert done.returncode == 0, f'{shlex.join(map(str, command))}\n{done.stdout[-20000:]}'
    return done.stdout


def skip(reason):
    print(f'SKIPPED: {reason}')
    sys.exit(SKIPPED)


def need():
    for tool, package in {'dpkg-buildpackage': 'dpkg-dev', 'dh': 'debhelper', 'lintian': 'lintian'}.items():
        if not shutil.which(tool):
            skip(f'there is no {tool} here (Debian: {package})')
    missing = subprocess.run(['dpkg-checkbuilddeps', '-I', SOURCE / 'debian/control'], env=ENVIRONMENT, text=True,
                             stderr=subprocess.PIPE, check=False)
    if missing.returncode:
        skip(missing.stderr.strip())


def build():
    """The packages, by name, and the list of changes."""
    copy = FOLDER / 'cudaxcorr'
    shutil.copytree(SOURCE, copy, symlinks=True, ignore=shutil.ignore_patterns('.*', 'build', 'build-*', '__pycache__'))
    began = time.monotonic()
    compilers = {'CC': 'ccache gcc', 'CXX': 'ccache g++', 'CCACHE_BASEDIR': str(FOLDER)}
    run('dpkg-buildpackage', '-d', '-b', '-us', '-uc', cwd=copy, extra=compilers if shutil.which('ccache') else {})
    print(f'built in {time.monotonic() - began:.0f} s')
    (changes,) = FOLDER.glob('*.changes')
    return {file.name.split('_')[0]: file for file in FOLDER.glob('*.deb')}, changes


def check_control(packages):
    assert set(packages) == set(PACKAGES), sorted(packages)
    changelog = (SOURCE / 'CHANGELOG.md').read_text(encoding='utf-8')
    assert re.search(r'^## \[(.*?)\]', changelog, re.MULTILINE)[1] == VERSION, changelog[:500]
    for name, file in packages.items():
        version = run('dpkg-deb', '-f', file, 'Version').strip()
        assert version == VERSION, (name, version)
        print(f'{name} {version}: {file.stat().st_size / 1e6:.2f} MB')
    depends = run('dpkg-deb', '-f', packages[PLUGIN], 'Depends')
    assert f'{LIBRARY} (= {VERSION})' in depends, depends


def unpack(packages):
    """Where each package is unpacked, and what it has outside of /usr/share/doc."""
    files = {}
    for name, file in packages.items():
        root = FOLDER / 'unpacked' / name
        root.mkdir(parents=True)
        run('dpkg-deb', '-x', file, root)
        run('dpkg-deb', '-x', file, FOLDER / 'root')
        files[name] = {str(path.relative_to(root)) for path in root.rglob('*') if not path.is_dir()}
        assert {f'usr/share/doc/{name}/copyright', f'usr/share/doc/{name}/changelog.gz'} <= files[name], name
    return {name: {path for path in paths if not path.startswith('usr/share/doc/')} for name, paths in files.items()}


def check_files(files, libraries):
    headers = {str(path.relative_to(SOURCE / 'kernels')) for path in SOURCE.glob('kernels/include/xcorr/*.hpp')}
    assert files == {
        PLUGIN: {f'{libraries}/gstreamer-1.0/libgstcudaxcorr.so'},
        LIBRARY: {f'{libraries}/libxcorr.so.0'},
        LIBRARY_DEV: {f'{libraries}/libxcorr.so', f'{libraries}/pkgconfig/xcorr.pc',
                      *(f'usr/{file}' for file in headers)},
        PLUGIN_DEV: {f'{libraries}/pkgconfig/gstcudaxcorrmeta.pc', 'usr/include/cudaxcorr/gstcudaxcorrmeta.h',
                     'usr/include/cudaxcorr/gstcudaxcorrfieldmeta.h'},
        DOC: {'usr/share/doc-base/libxcorr-doc.cudaxcorr'},
    }, files


def check_plugin(root, libraries):
    inspected = run('gst-inspect-1.0', 'cudaxcorr', extra={
        'GST_PLUGIN_PATH_1_0': str(root / libraries / 'gstreamer-1.0'), 'LD_LIBRARY_PATH': str(root / libraries)})
    assert f'{root}/{libraries}/gstreamer-1.0/libgstcudaxcorr.so' in inspected, inspected
    assert re.search(rf'^  Version +{re.escape(VERSION)}$', inspected, re.MULTILINE), inspected
    page = re.search(r'^  Doc(?:umentation|-uri) +file://(\S+)$', inspected, re.MULTILINE)[1]
    assert (root / page.lstrip('/')).is_file(), page


def check_development(root, libraries):
    """Programs build with what pkg-config says, once it says where this is, and the library's runs. That asks for no
    other module."""
    configs = root / libraries / 'pkgconfig'
    for config in configs.iterdir():
        config.write_text(config.read_text().replace('prefix=/usr\n', f'prefix={root}/usr\n', 1))

    def flags(module, *what, where='PKG_CONFIG_PATH'):
        return shlex.split(run('pkg-config', *what, module, extra={where: str(configs)}))

    assert flags('xcorr', '--modversion') == flags('gstcudaxcorrmeta', '--modversion') == [VERSION]
    program = FOLDER / 'correlate'
    run('c++', SOURCE / 'examples/correlate.cpp', '-o', program,
        *flags('xcorr', '--cflags', '--libs', where='PKG_CONFIG_LIBDIR'))
    assert run(program, extra={'LD_LIBRARY_PATH': str(root / libraries)}) == '4 11 6\n14 30 14\n'
    reader = FOLDER / 'reader.c'
    reader.write_text(METADATA_READER)
    run('cc', '-Wall', '-Werror', '-fsyntax-only', reader, *flags('gstcudaxcorrmeta', '--cflags'))


def check_site(root):
    site = root / f'usr/share/doc/{DOC}/html'
    landing = (site / 'index.html').read_text(encoding='utf-8')
    parts = re.findall(r'<p class="caption"[^>]*><span class="caption-text">(.*?)</span>', landing)
    readme = (SOURCE / 'README.md').read_text(encoding='utf-8').split('\n## More\n')[1].split('\n## ')[0]
    assert parts == re.findall(r'^### (.*)$', readme, re.MULTILINE) != [], parts
    assert 'searched_region' in (site / 'docs/library.html').read_text(encoding='utf-8')
    pages = [*site.rglob('*.html')]
    assert len(pages) > 30, pages
    broken = [(page.name, link) for page in pages
              for link in re.findall(r'(?:href|src)="([^"#?:]+)["#?]', page.read_text(encoding='utf-8'))
              if not os.path.lexists(page.parent / link)]  # links of other packages' files count
    assert not broken, broken


def main():
    need()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    packages, changes = build()
    check_control(packages)
    print(run('lintian', '--allow-root', '--fail-on', 'error', changes))
    files, root = unpack(packages), FOLDER / 'root'
    libraries = f'usr/lib/{run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()}'
    check_files(files, libraries)
    check_plugin(root, libraries)
    check_development(root, libraries)
    check_site(root)


if __name__ == '__main__':
    main()
