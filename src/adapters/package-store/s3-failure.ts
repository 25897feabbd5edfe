import { S3ServiceException } from '@aws-sdk/client-s3';
import { z } from 'zod';
import { Problem } from '../../lib/problems.ts';

const MESSAGE_LENGTH = 300;
/** `NoSuchKey`: no digits, as keys and signatures have them. */
const CODE = /^[A-Z][A-Za-z]{2,59}$/;
/** AWS's have 16 characters, those of other servers up to 60; a signature has 64. */
const REQUEST_ID = /^[\w-]{1,60}$/;

/** Whether the server itself has refused, by one of these codes of S3's errors. */
export const isRefusal = (error: unknown, ...codes: string[]): boolean =>
  error instanceof S3ServiceException && codes.includes(error.name);

/** Runs one piece of work with the store; whatever goes wrong there means that the store is away. */
export const orAway = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Problem
      ? error
      : new Problem('package-store-unavailable', { cause: failureOf(error) });
  }
};

/**
 * What a log may tell of a failure. The client's own errors carry whatever the server sent, which may be the
 * access key's id and the text that was signed, and the response itself: of an answer, only its code, status and
 * request id are told, and those only where they look like it.
 */
export const failureOf = (error: unknown): Error => {
  if (!(error instanceof Error)) return new Error(String(error));
  const failure = new Error(messageOf(error).slice(0, MESSAGE_LENGTH));
  failure.stack = `${failure.name}: ${failure.message}\n${framesOf(error)}`;
  return failure;
};

const messageOf = (error: Error): string => {
  // A host of several addresses fails at each of them, and says nothing by itself.
  if (error instanceof AggregateError) return error.errors.map((one) => failureOf(one).message).join('; ');
  const answer = answerIn(error);
  if (answer) return `${codeIn(error)} (status ${answer.status}, request id ${answer.requestId})`;
  // It repeats the address, which may hold a password where it comes from the environment.
  if (error.name === 'EndpointError') return 'The endpoint of the bucket is not valid.';
  return error.name === 'Error' ? error.message : `${error.name}: ${error.message}`;
};

/** What the client tells of the answer that an error was made of, even of one that it could not read. */
const Answered = z.object({
  $metadata: z.object({
    httpStatusCode: z.int(),
    requestId: z.string().regex(REQUEST_ID).catch('none'),
  }),
});

/** null for what failed on this side, or on the way. */
const answerIn = (error: Error): { status: number | string; requestId: string } | null => {
  const { data } = Answered.safeParse(error);
  if (data) return { status: data.$metadata.httpStatusCode, requestId: data.$metadata.requestId };
  return '$response' in error || error instanceof S3ServiceException
    ? { status: 'none', requestId: 'none' }
    : null;
};

const codeIn = ({ name }: Error): string =>
  CODE.test(name) && name !== 'Error' ? name : 'An answer that cannot be read';

const framesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
