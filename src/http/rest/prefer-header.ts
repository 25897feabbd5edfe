import type { FastifyRequest } from 'fastify';

/** What a caller would rather have of a change (RFC 7240 §4.2), or null. The first of several counts. */
export const preferredReturn = ({ headers }: Pick<FastifyRequest, 'headers'>): string | null => {
  const { prefer } = headers;
  if (prefer === undefined) return null;
  for (const preference of String(prefer).split(',')) {
    const [, value] = RETURN_PREFERENCE.exec(preference) ?? [];
    if (value !== undefined) return value.toLowerCase();
  }
  return null;
};

const RETURN_PREFERENCE = /^\s*return\s*=\s*"?(representation|minimal)"?\s*(?:;|$)/i;
