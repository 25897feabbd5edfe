import { REST_ENDPOINTS } from '../../../src/http/rest/endpoints.ts';
import { restPath } from '../../support/test-app.ts';

type FailureRow = { line: string; payload?: string; headers: Record<string, string> };

/** A failing request for every procedure: without a login, or for public ones with an unacceptable type or a malformed body. */
export const failureRows = (): FailureRow[] =>
  REST_ENDPOINTS.map(({ method, url, isPublic }) => {
    const line = `${method} ${restPath(url).replaceAll(/:\w+/g, '1')}`;
    if (!isPublic) return { line, headers: {} };
    const isRead = method === 'GET';
    return {
      line,
      headers: isRead ? { accept: 'image/png' } : { 'content-type': 'application/json' },
      ...(!isRead && { payload: '[' }),
    };
  });
