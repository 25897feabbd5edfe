import { S3ServiceException } from '@aws-sdk/client-s3';
import { Problem } from '../core/problems.ts';

/** Servers may answer with a whole page. */
const MESSAGE_LENGTH = 300;

/** Whether the server itself has refused, by one of these codes of S3's errors. */
export const isRefusal = (error: unknown, ...codes: string[]): boolean =>
  error instanceof S3ServiceException && codes.includes(error.name);

/** Runs one piece of work with the store; whatever goes wrong there means that the store is away. */
export const orAway = async <T>(work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Problem ? error : new Problem('store-away', { cause: failureOf(error) });
  }
};

/**
 * What a log may tell of a failure. The client's own errors carry whatever the server sent, which may be the
 * access key's id and the text that was signed, and the response itself.
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
  const told = error.name === 'Error' ? error.message : `${error.name}: ${error.message}`;
  if (!(error instanceof S3ServiceException)) return told;
  const { httpStatusCode = 'none', requestId = 'none' } = error.$metadata;
  return `${told} (status ${httpStatusCode}, request id ${requestId})`;
};

const framesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
