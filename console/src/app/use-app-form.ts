import { useQueryClient } from '@tanstack/react-query';
import { type Inputs, steward, trpc } from '../api.ts';
import type { App } from '../apps/app-of.ts';
import type { FieldLabels } from '../components/form-fields.ts';
import { useRecordForm } from '../components/use-record-form.tsx';

type Field = Extract<keyof NonNullable<Inputs['apps']['update']['expected']>, keyof App>;

/** A form for some fields of an app. */
export const useAppForm = <F extends Field>(name: string, app: App, labels: FieldLabels<F>) => {
  const queryClient = useQueryClient();
  const query = trpc.apps.get.queryOptions({ app_id: app.id }, { staleTime: 0 });
  return useRecordForm({
    name,
    record: app,
    labels,
    history: { action: 'app.update', target: app.slug },
    read: () => queryClient.fetchQuery(query),
    save: (input) => steward.api.apps.update.mutate({ app_id: app.id, ...input }),
    onSaved: (updated) => {
      queryClient.setQueryData(query.queryKey, updated);
      for (const filter of [trpc.apps.list, trpc.apps.status, trpc.audit.list])
        void queryClient.invalidateQueries(filter.pathFilter());
    },
  });
};
