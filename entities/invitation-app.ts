import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { Invitation } from './invitation.ts';

/** An app that the invitee gets access to on acceptance. */
export const InvitationApp = defineEntity({
  name: 'InvitationApp',
  tableName: 'invitation_apps',
  primaryKeys: ['invitation', 'app'],
  properties: {
    invitation: () => p.manyToOne(Invitation).primary().deleteRule('cascade').updateRule('no action'),
    app: () => p.manyToOne(App).primary().index().deleteRule('cascade').updateRule('no action'),
  },
});
