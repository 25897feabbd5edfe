import type { Page } from 'playwright-core';
import { ACME, type TestApp } from './test-app.ts';

/** In the form of Invite. */
export const addAddresses = async (page: Page, text: string): Promise<void> => {
  await page.getByLabel('Email addresses').fill(text);
  await page.getByRole('button', { name: 'Add to the list' }).click();
};

/** The button that sends `2 invitations`. */
export const send = (page: Page, count: string) => page.getByRole('button', { name: `Send ${count}` });

/** Pending invitations whose address or name has these words. */
export const pendingOf = async (app: TestApp, search: string) =>
  (await app.as(ACME).invitations.search({ search, limit: 200 })) as {
    email: string;
    initial_apps: string[];
  }[];

/** @param recipient an address, or a pattern of SQL */
export const mailsTo = (app: TestApp, recipient: string) =>
  app.db().selectFrom('outbox_mails').selectAll().where('recipient', 'like', recipient).execute();
