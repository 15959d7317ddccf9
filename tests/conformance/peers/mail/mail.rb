# Sends the email of clients.py to the recipient given as the argument.
require 'mail'

Mail.defaults do
  delivery_method :smtp, address: ENV['MAIL_HOST'], port: ENV['MAIL_PORT'].to_i, user_name: ENV['MAIL_USER'], password: ENV['MAIL_KEY'], authentication: :plain
end

Mail.deliver do
  from ENV['MAIL_FROM']
  to ARGV.fetch(0)
  subject ENV['MAIL_SUBJECT']
  text_part { body ENV['MAIL_TEXT'] }
  html_part do
    content_type 'text/html; charset=UTF-8'
    body ENV['MAIL_HTML']
  end
  add_file ENV['MAIL_FILE']
end
