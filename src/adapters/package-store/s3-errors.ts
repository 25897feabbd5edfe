import { S3ServiceException } from '@aws-sdk/client-s3';
import { z } from 'zod';
import { orUnavailable } from './package-store.ts';

const MAX_MESSAGE_LENGTH = 300;
/** `NoSuchKey`: without digits, which access keys and signatures have. */
const CODE = /^[A-Z][A-Za-z]{2,59}$/;
/** AWS uses 16 characters, other servers up to 60; a signature has 64. */
const REQUEST_ID = /^[\w-]{1,60}$/;

/** Whether the server responded with one of these S3 error codes. */
export const hasErrorCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof S3ServiceException && codes.includes(error.name);

/** Like `orUnavailable`, with a cause that is safe to log. */
export const orS3Unavailable = <T>(work: () => Promise<T>): Promise<T> => orUnavailable(work, toSafeError);

/**
 * A copy of an error that is safe to log. The client's errors include the response, and with it possibly the access key id
 * and the signed text. Of a response, only its code, status and request id are copied, if they have the expected form.
 */
export const toSafeError = (error: unknown): Error => {
  if (!(error instanceof Error)) return new Error(String(error));
  const safe = new Error(messageOf(error).slice(0, MAX_MESSAGE_LENGTH));
  safe.stack = `${safe.name}: ${safe.message}\n${stackFramesOf(error)}`;
  return safe;
};

const messageOf = (error: Error): string => {
  // A host with several addresses: one error per address.
  if (error instanceof AggregateError) return error.errors.map((one) => toSafeError(one).message).join('; ');
  const response = responseOf(error);
  if (response) return `${codeOf(error)} (status ${response.status}, request id ${response.requestId})`;
  // Its message includes the endpoint, which may contain a password.
  if (error.name === 'EndpointError') return 'The endpoint of the bucket is not valid.';
  return error.name === 'Error' ? error.message : `${error.name}: ${error.message}`;
};

/** What the client adds to an error that was caused by a response, even by one that it could not parse. */
const WithMetadata = z.object({
  $metadata: z.object({
    httpStatusCode: z.int(),
    requestId: z.string().regex(REQUEST_ID).catch('none'),
  }),
});

/** Null for an error that was not caused by a response. */
const responseOf = (error: Error): { status: number | string; requestId: string } | null => {
  const { data } = WithMetadata.safeParse(error);
  if (data) return { status: data.$metadata.httpStatusCode, requestId: data.$metadata.requestId };
  return '$response' in error || error instanceof S3ServiceException
    ? { status: 'none', requestId: 'none' }
    : null;
};

const codeOf = ({ name }: Error): string =>
  CODE.test(name) && name !== 'Error' ? name : 'Unreadable response';

const stackFramesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
