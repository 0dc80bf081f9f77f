# A recursive crawl with Scrapy, with the settings that its documentation names for polite crawls if DELAY is set.
import os
from urllib.parse import urlsplit

import scrapy
from scrapy.linkextractors import LinkExtractor

delay = float(os.environ["DELAY"])


class Site(scrapy.Spider):
    name = "site"
    links = LinkExtractor()
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": 64,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1 if delay else 16,
        "DOWNLOAD_DELAY": delay,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "CRITICAL",
        "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
        "DEPTH_PRIORITY": 1,  # breadth first, as the documentation says
        "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
        "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    }

    def start_requests(self):
        with open(os.environ["SEEDS"]) as seeds:
            for url in seeds.read().split():
                yield scrapy.Request(url)

    def parse(self, response):
        for link in self.links.extract_links(response):
            yield scrapy.Request(link.url)
