// SPDX-License-Identifier: GPL-2.0
package main

import (
	"fmt"
	"net"
	"os/user"
	"runtime"
	"sync"
)

// C code by way of the resolver and of user.Current, on 200 locked threads.
func main() {
	var group sync.WaitGroup
	var mutex sync.Mutex
	sum := 0
	for i := 0; i < 200; i++ {
		group.Add(1)
		go func(n int) {
			defer group.Done()
			runtime.LockOSThread()
			current, err := user.Current()
			_, err2 := net.LookupHost("localhost")
			data := make([]byte, 100000+n)
			mutex.Lock()
			if err == nil && err2 == nil {
				sum += len(data) + len(current.Uid)
			}
			mutex.Unlock()
		}(i)
	}
	group.Wait()
	fmt.Println(sum)
}
