import { defineEntity, p } from '@mikro-orm/core';
import { App } from './app.ts';

/** A page group of an app. Saved filters belong to a stack. */
export const StackSchema = defineEntity({
  name: 'Stack',
  tableName: 'stacks',
  uniques: [{ properties: ['app', 'slug'] }],
  properties: {
    id: p.string().length(8).primary().check(`id ~ '^[0-9a-f]{8}$'`),
    app: () => p.manyToOne(App).deleteRule('cascade').updateRule('no action'),
    slug: p.string().length(64),
    label: p.string().length(255),
    /** False if the loaded package no longer has it: saved filters are kept, new ones are refused. */
    isOffered: p.boolean().default(true),
  },
});

export class Stack extends StackSchema.class {}
StackSchema.setClass(Stack);
