import type { S3Client } from '@aws-sdk/client-s3';
import { endWith, type Span, tracing } from '../../lib/tracing.ts';

/**
 * Sends the current trace with every request, and records a span for each attempt. Runs after the request is signed: a proxy
 * that adds a span replaces the header, which must not break the signature.
 */
export const traceRequests = (client: S3Client, bucket: string): void => {
  client.middlewareStack.add(
    (next, { commandName = 'Request' }) =>
      async (sent) => {
        const operation = commandName.replace(/Command$/, '');
        const attributes = { 'rpc.system.name': 'aws-api', 'rpc.method': `S3/${operation}` };
        const span = tracing.start(() => ({
          name: `S3 ${operation}`,
          kind: 'client',
          attributes: { ...attributes, 'aws.s3.bucket': bucket },
        }));
        return endWith(
          span,
          inSpan(span, () => next(withHeaders(sent))),
        );
      },
    { step: 'deserialize', priority: 'low', name: 'traceRequests' },
  );
};

const inSpan = <T>(span: Span | null, work: () => Promise<T>): Promise<T> => (span ? span.run(work) : work());

const withHeaders = <T extends { request: unknown }>(sent: T): T => {
  const { request } = sent;
  if (typeof request === 'object' && request !== null && 'headers' in request && isRecord(request.headers))
    Object.assign(request.headers, tracing.headers());
  return sent;
};

const isRecord = (value: unknown): value is object => typeof value === 'object' && value !== null;
