// Colly on the same web: fetch, extract links, follow those of the seeds' hosts, once each; it keeps nothing.
//
//	colly SEEDS FETCHED     writes one URL a line
package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gocolly/colly/v2"
)

func main() {
	data, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	seeds := strings.Fields(string(data))
	var hosts []string
	for _, seed := range seeds {
		parsed, err := url.Parse(seed)
		if err != nil {
			log.Fatal(err)
		}
		hosts = append(hosts, parsed.Hostname())
	}
	file, err := os.Create(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	writer := bufio.NewWriterSize(file, 1<<16)
	var lock sync.Mutex

	collector := colly.NewCollector(colly.Async(true), colly.AllowedDomains(hosts...))
	collector.WithTransport(&http.Transport{
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
		MaxIdleConns:        4096,
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     30 * time.Second,
	})
	if err := collector.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 128}); err != nil {
		log.Fatal(err)
	}
	collector.OnResponse(func(response *colly.Response) {
		lock.Lock()
		defer lock.Unlock()
		fmt.Fprintln(writer, response.Request.URL)
	})
	// Its own memory of what was visited is asked and told in two steps, so pages that find a link at once both follow it.
	var known sync.Map
	collector.OnHTML("a[href]", func(element *colly.HTMLElement) {
		link := element.Request.AbsoluteURL(element.Attr("href"))
		if _, was := known.LoadOrStore(link, true); !was {
			_ = element.Request.Visit(link) // one that leads elsewhere is an error there
		}
	})
	for _, seed := range seeds {
		known.Store(seed, true)
		_ = collector.Visit(seed)
	}
	collector.Wait()
	if err := writer.Flush(); err != nil {
		log.Fatal(err)
	}
}
