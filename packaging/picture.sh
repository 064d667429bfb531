#!/bin/sh
# Makes the picture of the README, docs/turns.svg: the same two batches first in, first out, and with fairpar.
#
# Both are real runs of the same jobs, which sleep for a third of a second or so, on four slots: 100 of "nightly", and two
# seconds later 20 of "today". First in, first out is one queue for all, whose log has the names of the two put in for the
# colours; with fairpar each is a batch. Takes half a minute: packaging/picture.sh [FAIRPAR]

set -eu
cd "$(dirname "$0")/.."
fairpar=$(readlink -f "${1:-./fairpar}")
out=$PWD/docs/turns.svg
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"

awk 'BEGIN { for (i = 0; i < 100; i++) print "nightly", 0.2 + i * 37 % 100 / 100 * 0.2 }' >nightly
awk 'BEGIN { for (i = 0; i < 20; i++) print "today", 0.2 + i * 7 % 20 / 20 * 0.2 }' >today
arrive() { sleep 2 && cat today; }

{ cat nightly && arrive; } | "$fairpar" -j4 --colsep ' ' --log one.jsonl 'sleep {2} # {1}'
mkfifo late
arrive >late &
"$fairpar" -j4 --colsep ' ' --batch nightly=nightly --batch today=late --log two.jsonl 'sleep {2} # {1}'

# The batch of each job of the one queue is in its command.
awk 'match($0, /"seq":[0-9]+/) {
	seq = substr($0, RSTART, RLENGTH)
	if (match($0, /# [a-z]+"/))
		batch[seq] = substr($0, RSTART + 2, RLENGTH - 3)
	gsub(/default/, batch[seq])
}
/"ev":"batch_/ { next }
{ print }' one.jsonl >named.jsonl
"$fairpar" --from-log named.jsonl --report one.svg
"$fairpar" --from-log two.jsonl --report two.svg

# When the last of a batch has ended, in seconds.
end_of() {
	awk -v batch="\"batch\":\"$1\"" '/"ev":"job_end"/ && index($0, batch) && match($0, /"t":[0-9.]+/) {
		last = substr($0, RSTART + 4, RLENGTH - 4) }
	END { printf "%.1f s", last }' "$2"
}

# One above the other, each with a title that says what to see.
{
	height=$(cat one.svg two.svg | awk 'match($0, /^<svg .* height="[0-9]+"/) { sub(/.* height="/, ""); sum += $0 + 0 } END { print sum }')
	printf '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1090 %d" width="1090" height="%d" font-family="system-ui,sans-serif" font-size="12">\n' \
		"$height" "$height"
	y=0
	for name in one two; do
		case $name in
		one) title="first in, first out: what came 2 s late is done after $(end_of today named.jsonl)" ;;
		*) title="fairpar: it is done after $(end_of today two.jsonl), and all of it takes no longer" ;;
		esac
		sed -e "s|^<svg |<svg y=\"$y\" |" -e "s|\(font-weight=\"600\">\)[^<]*|\1$title|" "$name.svg"
		y=$(sed -n 's/^<svg .* height="\([0-9]*\)".*/\1/p' one.svg)
	done
	echo '</svg>'
} >picture.svg
mkdir -p "${out%/*}"
mv picture.svg "$out"
ls -l "$out"
