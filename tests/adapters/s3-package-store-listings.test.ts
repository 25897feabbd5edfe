import { createServer } from 'node:http';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { problemOf } from '../support/packages.ts';
import { setCredentials, storeOn } from '../support/s3-server.ts';

setCredentials();
const listings = suite('S3 package store with invalid listings');

/** A server whose every list has one package, followed by `more(page)`. */
const startLister = async (more: (page: number) => string) => {
  let pages = 0;
  const server = createServer((_request, response) => {
    pages += 1;
    const package_ = `<Contents><Key>sales-1.0.${pages}.tgz</Key><Size>1</Size></Contents>`;
    response.setHeader('content-type', 'application/xml');
    response.end(`<?xml version="1.0"?><ListBucketResult>${package_}${more(pages)}</ListBucketResult>`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    endpoint: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    pages: () => pages,
    [Symbol.asyncDispose]: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const truncated = (token: string): string =>
  `<IsTruncated>true</IsTruncated><NextContinuationToken>${token}</NextContinuationToken>`;
const WHOLE = '<IsTruncated>false</IsTruncated>';

for (const [what, more, pages] of [
  ['the same page again', () => truncated('same'), 2],
  ['two pages in turn', (page: number) => truncated(String(page % 2)), 3],
  ['no way to the next page', () => '<IsTruncated>true</IsTruncated>', 1],
  ['new pages without end', (page: number) => truncated(String(page)), 20],
] as const) {
  listings(`refuses ${what}`, async () => {
    await using server = await startLister(more);

    const problem = await problemOf(
      storeOn(server, '', { maxPages: 20 }).list(),
      'package-store-unavailable',
    );

    assert.match(String(problem.cause), 'The listing ');
    assert.is(server.pages(), pages);
  });
}

listings('reads up to the maximum number of pages', async () => {
  await using server = await startLister((page) => (page === 20 ? WHOLE : truncated(String(page))));

  assert.is((await storeOn(server, '', { maxPages: 20 }).versions('sales')).length, 20);
});

listings.run();
