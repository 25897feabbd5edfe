import { idOf, textOf, timeOf } from '../components/search-params.ts';

/** The client to invite to and the app that is chosen at first. With a time: the outcome of the invitations that were sent then. */
export type InviteSearch = {
  client?: number | undefined;
  app?: string | undefined;
  sent?: string | undefined;
};

export const inviteSearch = ({ client, app, sent }: Record<string, unknown>): InviteSearch => ({
  client: idOf(client),
  app: textOf(app),
  sent: timeOf(sent),
});
