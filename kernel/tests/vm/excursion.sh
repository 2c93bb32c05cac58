#!/bin/sh
# excursion.sh: works, works for a while as a real-time task, which another scheduler serves, and works on. Prints the CPU time in ns that
# it received before and after.
work() {
	i=0
	while [ $i -lt 30000 ]; do i=$((i + 1)); done
}
ran() { cut -d' ' -f1 /proc/$$/schedstat; }
work
chrt -f -p 1 $$ || exit 1
before=$(ran)
work
after=$(ran)
chrt -o -p 0 $$ || exit 1
work
echo $(($(ran) - after + before))
