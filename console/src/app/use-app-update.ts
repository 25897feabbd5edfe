import type { UseFormReturnType } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { fieldErrors } from '@steward/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type Inputs, trpc } from '../api.ts';
import { joined } from '../components/form-fields.ts';

type Values = Omit<Inputs['apps']['update'], 'app_id'>;

/** Saves changes of a form, and shows the errors of its fields. */
export const useAppUpdate = <T extends Values>(id: string, form: UseFormReturnType<T>) => {
  const queryClient = useQueryClient();
  return useMutation(
    trpc.apps.update.mutationOptions({
      onSuccess: (updated) => {
        queryClient.setQueryData(trpc.apps.get.queryKey({ app_id: id }), updated);
        void queryClient.invalidateQueries(trpc.apps.list.pathFilter());
        void queryClient.invalidateQueries(trpc.apps.status.pathFilter());
        void queryClient.invalidateQueries(trpc.audit.list.pathFilter());
        form.setInitialValues(form.getValues());
        form.reset();
        notifications.show({ message: 'Saved.' });
      },
      onError: (error) => form.setErrors(joined(fieldErrors(error))),
    }),
  );
};
