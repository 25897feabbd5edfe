import * as assert from 'uvu/assert';
import type { RestOptions } from '../support/http-clients.ts';
import type { Service } from '../support/service-process.ts';
import { parseMail, type TestSmtpServer } from '../support/smtp-server.ts';
import { DEMO_PASSWORD } from '../support/test-server.ts';
import { until } from '../support/time.ts';

export const ROOT = 'root@steward.test';
export const ACME = 'admin@acme.test';
export const ADA = 'ada@acme.test';
export const APP = 'zylTKNVx';

export type Instance = Pick<Service, 'send' | 'logIn'>;

/** The body of a response that must be a success. */
export const call = async (instance: Instance, line: string, options: RestOptions = {}) => {
  const { status, text, json } = await instance.send(line, options);
  assert.ok(status >= 200 && status < 300, `${line}: ${status} ${text}`);
  return json;
};
export const tokenOf = async (
  instance: Instance,
  email: string,
  password = DEMO_PASSWORD,
): Promise<string> => {
  const { status, text, token } = await instance.logIn(email, password);
  assert.is(status, 200, text);
  return token;
};

/** Waits for a mail with a link to this path. `skip` is the number of older mails to ignore. */
export const linkMailedTo = async (
  smtp: TestSmtpServer,
  address: string,
  path: string,
  skip = 0,
): Promise<URL> => {
  const links: URL[] = [];
  await until(`a mail to ${address} with a link to ${path}`, async () => {
    for (const mail of smtp.taken.slice(skip).filter(({ to }) => to.includes(address))) {
      const { text = '' } = await parseMail(mail);
      links.push(...[...text.matchAll(/https?:\/\/\S+/g)].map(([link]) => new URL(link)));
    }
    return links.some(({ pathname }) => pathname.startsWith(path));
  });
  const link = links.findLast(({ pathname }) => pathname.startsWith(path));
  if (!link) throw new Error(`The mail to ${address} has no link.`);
  return link;
};

/** Creates a user with a password. */
export const createUser = async (instance: Instance, email: string, smtp: TestSmtpServer): Promise<void> => {
  const token = await tokenOf(instance, ACME);
  await call(instance, 'POST /jb/users/', {
    token,
    body: { email, client: 1, apps: [APP], send_email: true },
  });
  const link = await linkMailedTo(smtp, email, '/password/reset/');
  const body = { token: link.searchParams.get('token'), password: DEMO_PASSWORD };
  await call(instance, 'POST /password/reset/', { body });
};

/** Both versions show the fields that they have in common alike. */
export const assertSameItems = (
  line: string,
  some: Record<string, unknown>[],
  others: Record<string, unknown>[],
) => {
  assert.ok(some.length > 0, line);
  assert.is(others.length, some.length, line);
  for (const [index, item] of some.entries()) {
    const other = others[index] ?? {};
    const shared = Object.keys(item).filter((key) => key in other);
    assert.ok(shared.length > 1, `${line}: fields ${Object.keys(item)} and ${Object.keys(other)}`);
    for (const key of shared) assert.equal(other[key], item[key], `${line}: ${key} of item ${index}`);
  }
};
