// A recursive crawl with Crawlee's CheerioCrawler, with its settings for polite crawls if DELAY is set.
import { readFileSync } from 'node:fs';
import { CheerioCrawler, Configuration, log } from '@crawlee/cheerio';

log.setLevel(log.LEVELS.OFF);
const delay = Number(process.env.DELAY);
const purge = process.env.AGAIN !== '1';
const crawler = new CheerioCrawler({
  respectRobotsTxtFile: true,
  sameDomainDelaySecs: delay,
  maxConcurrency: 64,
  async requestHandler({ enqueueLinks }) {
    await enqueueLinks({ strategy: 'all' });
  },
}, new Configuration({ purgeOnStart: purge }));
await crawler.run(readFileSync(process.env.SEEDS, 'utf8').trim().split('\n'));
