import { ACME, type TestApp } from './test-app.ts';

type Invited = { email: string; client?: number; apps?: string[]; by?: string };

/** Invites a person and returns the path of the mailed link. */
export const inviteByLink = async (app: TestApp, invited: Invited): Promise<{ id: number; path: string }> => {
  const { email, client = 1, apps = [], by = ACME } = invited;
  const { id } = await app.as(by).clients.invite({ id: client, email, initial_apps: apps });
  const { url } = await app.as(by).invitations.copyLink({ id });
  return { id, path: pathOf(url) };
};

/** Sends pending mails and returns the path of the user's newest password link. */
export const mailedPasswordPath = async (app: TestApp, email: string): Promise<string> => {
  await app.mailWorker.drain();
  const { id, user_id, created_at } = await app
    .db()
    .selectFrom('password_links')
    .innerJoin('users', 'users.id', 'password_links.user_id')
    .select(['password_links.id', 'password_links.user_id', 'password_links.created_at'])
    .where('users.email', '=', email)
    .orderBy('password_links.id', 'desc')
    .executeTakeFirstOrThrow();
  return pathOf(app.links.passwordLink({ id, userId: user_id, createdAt: created_at }));
};

const pathOf = (url: string): string => {
  const { pathname, search } = new URL(url);
  return pathname + search;
};
