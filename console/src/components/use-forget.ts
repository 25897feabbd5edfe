import { useQueryClient } from '@tanstack/react-query';

/** To be called before the user leaves the screen of what was removed: other screens then request their data again. */
export const useForget = () => {
  const queryClient = useQueryClient();
  return async (): Promise<void> => {
    queryClient.removeQueries({ type: 'inactive' });
    // The screen that is still shown must not request what is gone.
    await queryClient.invalidateQueries({ refetchType: 'none' });
  };
};
