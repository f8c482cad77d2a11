# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# A kernel's build that begins with the objects of another. Source it after
# lib.sh.

# copy_objects FROM FROM-SRC TO TO-SRC: build directory TO, of the source tree
# TO-SRC, begins with a copy of FROM, which is complete and of FROM-SRC.  kbuild's
# command files name both: let them name the others.  Of standard input come the
# files in which the trees differ: these become newer than any object, and all
# the rest older.
copy_objects()
{
	local from=$1 from_src=$2 to=$3 to_src=$4 files

	rm -rf "$to" "$to.tmp"
	cp -a --reflink=auto "$from" "$to.tmp"
	rm -f "$to.tmp/.done"
	find "$to.tmp" -name '*.cmd' -print0 | xargs -0 sed -i \
		-e "s,$from_src\\b,$to_src,g" -e "s,$from\\b,$to,g" \
		-e "s,\\.\\./${from_src##*/}/,../${to_src##*/}/,g"
	find "$to_src" -path "$to_src/.git" -prune -o -type f \
		-newer "$from/.started" -print0 |
		xargs -0r touch -c -r "$from/.started"
	files=$(cat)
	(cd "$to_src" && xargs -r touch -c <<<"$files")
	mv "$to.tmp" "$to"
}
