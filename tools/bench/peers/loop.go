// The main function of a program that evaluates reviews with the engine of another product, without a network.
//
//	PROGRAM POLICIES   a file with a document a line, as JSON
//
// A line of stdin is a file of reviews, one a line. The answer is a line: microseconds of CPU of this process for a review,
// and how many reviews were denied. Each review is evaluated once before.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"syscall"
)

// A review, to the answer that the product's webhook sends.
type evaluator func(body []byte) []byte

func main() {
	review := load(lines(os.Args[1]))
	fmt.Println("ready")
	for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
		bodies := lines(asked.Text())
		denied := 0
		for _, body := range bodies {
			if bytes.Contains(review(body), []byte(`"allowed":false`)) {
				denied++
			}
		}
		before := cpuMicros()
		for _, body := range bodies {
			review(body)
		}
		fmt.Println(float64(cpuMicros()-before)/float64(len(bodies)), denied)
	}
}

func cpuMicros() int64 {
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return used.Utime.Nano()/1e3 + used.Stime.Nano()/1e3
}

func lines(file string) [][]byte {
	content, err := os.ReadFile(file)
	check(err)
	return bytes.Split(bytes.TrimSpace(content), []byte("\n"))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
