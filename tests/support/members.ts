import { ACME, type TestApp } from './test-app.ts';
import { SALES } from './usage.ts';

let created = 0;

/** A new member of Acme, who has the app Sales unless said otherwise. Returns the address. */
export const addMember = async (app: TestApp, apps = [SALES], by = ACME): Promise<string> => {
  created += 1;
  const email = `member-${created}@acme.test`;
  await app.as(by).users.create({ email, apps, client: 1, send_email: false });
  return email;
};

/** The ids of the apps that a person may open. */
export const opens = async (app: TestApp, email: string): Promise<string[]> =>
  (await app.as(email).apps.list({})).map(({ id }) => id);

/** What the link of an invitation has. */
export const invitationLink = (app: TestApp, key: string): { key: string; signature: string } => ({
  key,
  signature: new URL(app.links.invitation(key)).searchParams.get('signature') ?? '',
});
