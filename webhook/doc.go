// Package webhook verifies the callbacks of Foliot, by Standard Webhooks. It
// imports only the standard library.
//
//	func hook(w http.ResponseWriter, r *http.Request) {
//		event, err := webhook.Read(secrets, r, webhook.Options{})
//		if err != nil {
//			http.Error(w, err.Error(), http.StatusUnauthorized)
//			return
//		}
//		… // work with event.Body, unless event.ID was seen before
//	}
//
// Foliot signs the callbacks of a queue if the queue or its namespace has a
// secret, which foliot secret create makes. A party that knows the secret can
// sign too, so give each receiver a queue and a secret of its own.
//
// Foliot delivers at least once, so the same callback may come again. The ID is
// the same for all attempts of a task, and no other task ever has it.
package webhook
