import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';
import { User } from './user.ts';

/** Gives a user access to an app. */
export const AppGrantSchema = defineEntity({
  name: 'AppGrant',
  tableName: 'app_grants',
  primaryKeys: ['user', 'app'],
  indexes: [{ properties: ['app', 'user'] }],
  properties: {
    user: () => p.manyToOne(User).primary().deleteRule('cascade').updateRule('no action'),
    app: () => p.manyToOne(App).primary().deleteRule('cascade').updateRule('no action'),
  },
});

export class AppGrant extends AppGrantSchema.class {}
AppGrantSchema.setClass(AppGrant);
