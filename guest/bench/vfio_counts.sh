# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# The same, for its counts: what an unmap makes the kernel do, and the longest
# stretch of it without a reschedule point.  A trace of these points has a mark
# where the unmap begins and one where it ends.  In a guest of one CPU, as those
# points are everywhere.

# longest_stretch: of the trace, in us.
longest_stretch()
{
	awk '/type1 unmap (begins|ends)/ || /__cond_resched/ {
			match($0, / [0-9]+\.[0-9]+: /)
			now = substr($0, RSTART + 1, RLENGTH - 3)
		}
		/type1 unmap begins/ { inside = 1; last = now; next }
		inside && now - last > longest { longest = now - last }
		inside { last = now }
		/type1 unmap ends/ { inside = 0; ended = 1 }
		END {
			if (!ended)
				exit 1
			printf "longest_us %.0f\n", longest * 1e6
		}' "$TRACING/trace"
}

run_vfio_counts()
{
	local name memory mib

	echo 65536 >"$TRACING/buffer_size_kb"
	while read -r name memory mib; do
		say "vfio counts, $name"
		COUNTS=1 /guest/selftests/iommu/vfio_type1_bench \
			"$memory" "$mib" 1 >"/out/vfio_counts-$name.txt"
		longest_stretch >>"/out/vfio_counts-$name.txt"
	done < <(cases vfio_counts)
}
