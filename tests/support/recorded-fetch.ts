import type { Send } from '../../src/client.ts';

export type RecordedRequest = { method: string; path: string; headers: Headers; body: string };

/** A `fetch` that records requests, and keeps cookies as a browser does. */
export const createRecordedFetch = () => {
  const requests: RecordedRequest[] = [];
  const cookies = new Map<string, string>();
  const send: Send = async (url, init) => {
    const headers = new Headers(init?.headers);
    if (cookies.size > 0) headers.set('cookie', [...cookies].map((pair) => pair.join('=')).join('; '));
    const path = url.replace(/^https?:\/\/[^/]+/, '');
    requests.push({ method: init?.method ?? 'GET', path, headers, body: String(init?.body ?? '') });
    const response = await fetch(url, { ...init, headers });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  return { send, requests, cookies };
};
