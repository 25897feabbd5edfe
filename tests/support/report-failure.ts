/** Prints the error of a hook, which uvu does not. */
export const reportFailure =
  <T>(hook: (context: T) => Promise<void>) =>
  async (context: T): Promise<void> => {
    try {
      await hook(context);
    } catch (error) {
      console.error(error);
      throw error;
    }
  };
