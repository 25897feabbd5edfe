import type { InjectOptions } from 'fastify';
import type { TestApp } from './test-app.ts';

type Sent = { payload?: InjectOptions['payload']; headers?: Record<string, string> };

/** Sends requests as a browser script does: keeps cookies, and sends the CSRF token of its cookie by default. */
export const createScript = (app: TestApp) => {
  const cookies = new Map<string, string>();
  const send = async (line: string, { payload, headers }: Sent = {}) => {
    const csrf = cookies.get('csrftoken');
    const response = await app.send(line, {
      ...(payload !== undefined && { payload }),
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(csrf !== undefined && !line.startsWith('GET') && { 'x-csrftoken': csrf }),
        ...headers,
      },
    });
    for (const { name, value } of response.cookies) {
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  return {
    cookies,
    send,
    logIn: (username: string, password: string) =>
      send('POST /session/', { payload: { username, password } }),
  };
};
