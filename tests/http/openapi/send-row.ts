import type { TestApp } from '../../support/test-app.ts';
import type { Row } from './walk-rows.ts';

/** Sends the request of a row as JSON, and accepts JSON if nothing else. */
export const sendRow = async (app: TestApp, row: Pick<Row, 'line' | 'as' | 'body' | 'accept' | 'cookie'>) =>
  app.send(row.line, {
    ...(row.as && { as: row.as }),
    ...(row.body !== undefined && { payload: JSON.stringify(row.body) }),
    headers: {
      accept: row.accept ?? 'application/json',
      ...(row.body !== undefined && { 'content-type': 'application/json' }),
      ...(row.cookie !== undefined && { cookie: row.cookie }),
      ...(await csrfHeaders(app, row)),
    },
  });

/** The CSRF token for the POST that needs one, from the cookie of an earlier GET as documented. */
const csrfHeaders = async (app: TestApp, { line, as }: Pick<Row, 'line' | 'as'>) => {
  if (!line.startsWith('POST /hashr/') || !as) return {};
  const { cookies } = await app.send('GET /hashr/saved_global_filters/', { as });
  const token = cookies.find((cookie) => cookie.name === 'csrftoken')?.value ?? '';
  return { 'x-csrftoken': token, cookie: `csrftoken=${token}` };
};
