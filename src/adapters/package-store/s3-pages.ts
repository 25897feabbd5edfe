import type { ListObjectsV2CommandOutput } from '@aws-sdk/client-s3';

type Page = Pick<ListObjectsV2CommandOutput, 'IsTruncated' | 'NextContinuationToken'>;

/**
 * Takes the pages of one listing in turn, and answers what to ask the next one by: undefined after the last. It throws
 * where a listing would never end, or would end before it is whole.
 */
export const createPageTokens = (maxPages: number) => {
  const seen = new Set<string>();

  return ({ IsTruncated, NextContinuationToken: token }: Page): string | undefined => {
    // Every list tells it: what answers without is a web page, and no empty store.
    if (IsTruncated === undefined) throw new Error('The answer is none of S3.');
    if (!IsTruncated) return undefined;
    if (token === undefined) throw new Error('The listing breaks off.');
    if (seen.has(token)) throw new Error('The listing comes round to the same page.');
    seen.add(token);
    if (seen.size >= maxPages) throw new Error(`The listing has more than ${maxPages} pages.`);
    return token;
  };
};
