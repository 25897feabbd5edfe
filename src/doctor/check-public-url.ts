import { z } from 'zod';
import type { Config } from '../config/config.ts';
import { reasonOf } from '../lib/errno.ts';
import { failure, ok, type Result, warning } from './finding.ts';

const TIMEOUT_MS = 5_000;

/** Calls the service at BASE_URL through the proxy, as browsers do. */
export const checkPublicUrl = async ({ baseUrl }: Config, isConfigured: boolean): Promise<Result[]> => {
  if (!isConfigured) return [];
  try {
    return await checkService(baseUrl);
  } catch (error) {
    // `fetch` wraps the error of the connection.
    return [unreachable(baseUrl, error instanceof TypeError ? (error.cause ?? error) : error)];
  }
};

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && /^(AbortError|TimeoutError)$/.test(error.name);

const unreachable = (url: string, error: unknown): Result =>
  warning(
    `${url} does not answer (${isTimeout(error) ? 'timeout' : reasonOf(error)}).`,
    'Start the service and the proxy, or check BASE_URL and the certificate. NODE_EXTRA_CA_CERTS names your own authority.',
  );

const checkService = async (baseUrl: string): Promise<Result[]> => {
  const response = await request(`${baseUrl}/healthz`);
  const health: unknown = await response.json().catch(() => null);
  if (JSON.stringify(health) === '{"status":"ok"}')
    return [ok(`${baseUrl} leads to Steward.`), await checkForms(baseUrl)];
  const message = `${baseUrl}/healthz answers with status ${response.status}, but not as Steward does.`;
  return [warning(message, 'Check BASE_URL and the routes of the proxy, and that the service runs.')];
};

const request = (url: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });

/** Submits a login form without a username, which changes nothing. Its CSRF token is valid, so a 403 is caused by the origin. */
const checkForms = async (baseUrl: string): Promise<Result> => {
  const issued = CsrfToken.safeParse(await (await request(`${baseUrl}/api/v1/csrf/`)).json());
  const token = issued.data?.csrf_token ?? '';
  const { status } = await request(`${baseUrl}/login/`, {
    method: 'POST',
    headers: { origin: new URL(baseUrl).origin, cookie: `csrftoken=${token}` },
    body: new URLSearchParams({ csrf_token: token }),
  });
  return status === 403
    ? failure(
        'The service refuses forms that were sent through the proxy, because Origin does not match Host.',
        'Preserve the Host header in the proxy, or set TRUST_PROXY: see docs/deployment.md.',
      )
    : ok('Forms sent to this address are accepted.');
};

const CsrfToken = z.object({ csrf_token: z.string() });
