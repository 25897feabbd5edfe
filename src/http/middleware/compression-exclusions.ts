import type { FastifyRequest } from 'fastify';
import { restEndpoints } from '../rest/endpoints.ts';
import { isTrpcPath, proceduresInPath } from '../trpc/trpc-path.ts';

/** Procedures whose answers have tokens in them, links, or mails with links. */
const SECRET = /^(tokens|sessions|passwords|mail)\.|^invitations\.(copyLink|open|accept)$/;

export const isSecretProcedure = (procedure: string): boolean => SECRET.test(procedure);

const secretPaths = new Set([
  '/api/v1/csrf/',
  ...restEndpoints()
    .filter(({ procedure }) => isSecretProcedure(procedure))
    .map(({ url }) => url),
]);

/** A procedure's name. However else it is written, nobody looks whether it is a secret one. */
const PLAIN = /^[\w.]+$/;

/** Whether the answer to this request may tell what only its caller should know. */
export const mayContainSecrets = ({ url, routeOptions }: FastifyRequest): boolean =>
  isTrpcPath(url)
    ? proceduresInPath(url).some((procedure) => !PLAIN.test(procedure) || isSecretProcedure(procedure))
    : secretPaths.has(routeOptions.url ?? '');
