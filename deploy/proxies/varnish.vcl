# Varnish in front of Perennial: /etc/varnish/default.vcl
# Nothing is cached: all answers are private, and say so. A program in front of Varnish ends TLS, and says the
# client's address by the PROXY protocol (varnishd -a 127.0.0.1:6086,PROXY).

vcl 4.1;

backend perennial {
    .host = "127.0.0.1";
    .port = "8080";
    # Longer than any wait, which ends after 45 seconds, and than the pauses of a stream.
    .first_byte_timeout = 60s;
    .between_bytes_timeout = 60s;
}

sub vcl_recv {
    # Only the address that connects is true: a client may have written anything.
    set req.http.X-Forwarded-For = client.ip;
    # For your own network only.
    if (req.url ~ "^/metrics/?(\?|$)") {
        return (synth(404));
    }
    return (pass);
}

sub vcl_backend_response {
    if (beresp.http.Content-Type ~ "^application/json") {
        set beresp.do_gzip = true;
    }
}
